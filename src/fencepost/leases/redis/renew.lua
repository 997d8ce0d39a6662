-- KEYS: the leases. ARGV: holder, ttl in ms, then the epochs in the order of their leases.
-- Answers the history, then for each lease its origin where it was extended, else an empty text, and by how many ms the clock was
-- found set back.
local holder, ttl_ms = ARGV[1], ARGV[2]
local answers = { history }
for number, lease in ipairs(KEYS) do
  local held = redis.call('HMGET', lease, 'holder', 'epoch', 'origin')
  local is_held = held[1] == holder and held[2] == ARGV[number + 2]
  local set_back = ahead_ms(lease)
  if is_held then
    redis.call('HSET', lease, 'ttl', ttl_ms)
    redis.call('PEXPIRE', lease, ttl_ms)
  end
  answers[#answers + 1] = { is_held and held[3] or '', set_back }
end
return answers
