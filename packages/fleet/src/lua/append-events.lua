-- Appends events to the stream of the fleet.
--
-- KEYS[1]  stream
-- ARGV[1]  node
-- ARGV[2]  about how many events are kept
-- ARGV[3]  milliseconds for which the stream is kept after its last event
-- ARGV[4]  and following: events, as JSON
--
-- Result: 1

local streamKey = KEYS[1]
local node, maxEvents, ttlMs = ARGV[1], ARGV[2], ARGV[3]

for i = 4, #ARGV do
  redis.call('XADD', streamKey, 'MAXLEN', '~', maxEvents, '*', 'node', node, 'event', ARGV[i])
end
redis.call('PEXPIRE', streamKey, ttlMs)
return 1
