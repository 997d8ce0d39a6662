-- KEYS: a hash of value and fence. ARGV: fence, value, time to live in ms or 0 for ever.
-- Answers 1 and its own fence where it wrote, else 0 and the larger fence that it met.
local held = redis.call('HGET', KEYS[1], 'fence')
if held and tonumber(held) > tonumber(ARGV[1]) then
  return { 0, held }
end
redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'value', ARGV[2])
if ARGV[3] == '0' then
  redis.call('PERSIST', KEYS[1])
else
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return { 1, ARGV[1] }
