-- Adds the calls that a node has counted to the window of the fleet, and opens the breaker if the threshold is reached.
--
-- KEYS, ARGV[1] to ARGV[3] and result: see breaker-prelude.lua
-- ARGV[4]   calls
-- ARGV[5]   failures among them
-- ARGV[6]   window in milliseconds
-- ARGV[7]   failures that open the breaker
-- ARGV[8]   failure rate that opens the breaker instead; 0 for none
-- ARGV[9]   calls in the window from which on the rate is used
-- ARGV[10]  1 if a success ended the previous failures, in a consecutive window
-- ARGV[11]  open duration in milliseconds
-- ARGV[12]  consecutive openings

local newCalls, newFailures = ARGV[4], ARGV[5]
local windowMs, failureThreshold = tonumber(ARGV[6]), tonumber(ARGV[7])
local failureRate, minimumCalls, hasSuccess = tonumber(ARGV[8]), tonumber(ARGV[9]), ARGV[10] == '1'
local openFor, openings = tonumber(ARGV[11]), tonumber(ARGV[12])

local BUCKETS = 32
local MAX_COUNT = 1e12

if storedEpoch > knownEpoch or not isClosed() then return view() end

if hasSuccess then redis.call('DEL', countsKey) end
local bucket = math.floor(now / (windowMs / BUCKETS))
redis.call('HINCRBY', countsKey, 'c' .. bucket, newCalls)
redis.call('HINCRBY', countsKey, 'f' .. bucket, newFailures)
redis.call('PEXPIRE', countsKey, math.ceil(windowMs * 2))

local calls, failures = 0, 0
local entries = redis.call('HGETALL', countsKey)
for i = 1, #entries, 2 do
  local field, value = entries[i], entries[i + 1]
  local entryBucket = tonumber(string.sub(field, 2)) or 0
  if entryBucket < bucket - BUCKETS or entryBucket > bucket then
    redis.call('HDEL', countsKey, field)
  elseif string.sub(field, 1, 1) == 'c' then
    calls = calls + numberUpTo(value, MAX_COUNT)
  else
    failures = failures + numberUpTo(value, MAX_COUNT)
  end
end

local isReached = failures >= failureThreshold
if failureRate > 0 then isReached = calls >= minimumCalls and failures / calls >= failureRate end
if isReached then open(openFor, openings, failures) end
return view()
