-- Stands before every script. Only a master answers; `history` names what it has lived through.
local replication = redis.call('INFO', 'replication')
if not string.find(replication, 'role:master', 1, true) then
  return redis.error_reply('READONLY this server is a replica')
end
local history = string.match(replication, 'master_replid:(%x+)')
