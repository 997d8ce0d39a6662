-- KEYS: the epochs, then the lease of each shard. ARGV: holder, ttl in ms, a mark, then the shards, in the same order.
-- Answers the history, then for each shard its lease, whosesoever it is: holder, epoch, origin, time left in ms, and by how many
-- ms the clock was found set back by this grant.
local epochs, holder, ttl_ms, mark = KEYS[1], ARGV[1], ARGV[2], ARGV[3]

-- The mark that was made with the counters; it is lost together with them.
local function origin()
  local found = redis.call('HMGET', epochs, 'origin')[1]
  if not found then
    redis.call('HSET', epochs, 'origin', mark)
  end
  return found or mark
end

local function grant(shard, lease)
  local from = origin()
  local epoch = redis.call('HINCRBY', epochs, shard, 1)
  redis.call('HSET', lease, 'holder', holder, 'epoch', epoch, 'origin', from, 'ttl', ttl_ms)
  redis.call('PEXPIRE', lease, ttl_ms)
end

local answers = { history }
for number = 4, #ARGV do
  local lease = KEYS[number - 2]
  local set_back = ahead_ms(lease)
  if set_back > 0 or not redis.call('HMGET', lease, 'holder')[1] then
    grant(ARGV[number], lease)
  end
  local held = redis.call('HMGET', lease, 'holder', 'epoch', 'origin')
  answers[#answers + 1] = { held[1], held[2], held[3], redis.call('PTTL', lease), set_back }
end
return answers
