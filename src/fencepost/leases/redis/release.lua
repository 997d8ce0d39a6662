-- KEYS: the leases. ARGV: the channel for hints, holder, then the epochs in the order of their leases.
-- Answers for each lease whether it was freed. A hint that cannot be given changes nothing.
local channel, holder = ARGV[1], ARGV[2]
local answers, freed = {}, 0
for number, lease in ipairs(KEYS) do
  local held = redis.call('HMGET', lease, 'holder', 'epoch')
  local is_held = held[1] == holder and held[2] == ARGV[number + 2]
  answers[number] = is_held and redis.call('DEL', lease) or 0
  freed = freed + answers[number]
end
if freed > 0 then
  redis.pcall('PUBLISH', channel, '')
end
return answers
