-- Stands before every script. Only a master answers; `history` names what it has lived through.
local replication = redis.call('INFO', 'replication')
if not string.find(replication, 'role:master', 1, true) then
  return redis.error_reply('READONLY this server is a replica')
end
local history = string.match(replication, 'master_replid:(%x+)')

-- By how much a lease's expiry lies beyond its term, in ms: the clock was set back. 0 where it does not by more than a second, or
-- the lease was granted without its term.
local function ahead_ms(lease)
  local ttl = redis.call('HMGET', lease, 'ttl')[1]
  local ahead = ttl and redis.call('PTTL', lease) - tonumber(ttl) or 0
  return ahead > 1000 and ahead or 0
end
