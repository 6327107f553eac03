-- Selects the live nodes among some nodes.
--
-- KEYS[1]  live nodes: a sorted set, by the time at which each expires
-- ARGV     the nodes
--
-- Result: those of the nodes that are alive

local liveKey = KEYS[1]

local live = {}
for _, node in ipairs(ARGV) do
  if tonumber(redis.call('ZSCORE', liveKey, node) or '0') > now then live[#live + 1] = node end
end
return live
