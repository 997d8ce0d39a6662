-- KEYS: the epochs. ARGV: how the key of every lease begins.
-- Answers shard, holder, epoch, time left in ms of each lease that is held, and how many ms it is from the future.
local answers = {}
for _, shard in ipairs(redis.call('HKEYS', KEYS[1])) do
  local lease = ARGV[1] .. shard
  local held = redis.call('HMGET', lease, 'holder', 'epoch')
  if held[1] then
    answers[#answers + 1] = { shard, held[1], held[2], redis.call('PTTL', lease), ahead_ms(lease) }
  end
end
return answers
