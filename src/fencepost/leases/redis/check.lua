-- KEYS: the epochs, a key to try things on. ARGV: the channel for hints.
-- Does once, to no effect, whatever the other scripts will do, and answers how the server makes room when it is full.
redis.call('HKEYS', KEYS[1])
redis.call('HINCRBY', KEYS[2], 'tried', 1)
redis.call('HSET', KEYS[2], 'tried', 1)
redis.call('HMGET', KEYS[2], 'tried')
redis.call('PEXPIRE', KEYS[2], 1000)
redis.call('PTTL', KEYS[2])
redis.call('DEL', KEYS[2])
redis.call('PUBLISH', ARGV[1], '')
local memory = redis.call('INFO', 'memory')
return { string.match(memory, 'maxmemory:(%d+)'), string.match(memory, 'maxmemory_policy:([%w-]+)') }
