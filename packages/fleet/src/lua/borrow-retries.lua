-- Reports calls to a retry budget of the fleet and borrows retries from it.
--
-- KEYS[1]  window of the budget: a hash with calls (c…) and lent retries (r…) by bucket
-- ARGV[1]  calls since the last report
-- ARGV[2]  retries that are wanted
-- ARGV[3]  retries per call that the budget allows
-- ARGV[4]  retries per second that it allows in addition
-- ARGV[5]  window in milliseconds
--
-- Result: { retries that were lent; retries that are left }

local windowKey = KEYS[1]
local newCalls, wanted = ARGV[1], tonumber(ARGV[2])
local ratio, reservePerSecond, windowMs = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])

local BUCKETS = 32

local bucket = math.floor(now / (windowMs / BUCKETS))
redis.call('HINCRBY', windowKey, 'c' .. bucket, newCalls)

local calls, lentBefore = 0, 0
local entries = redis.call('HGETALL', windowKey)
for i = 1, #entries, 2 do
  local field, amount = entries[i], tonumber(entries[i + 1]) or 0
  local entryBucket = tonumber(string.sub(field, 2)) or 0
  if entryBucket <= bucket - BUCKETS or entryBucket > bucket then
    redis.call('HDEL', windowKey, field)
  elseif string.sub(field, 1, 1) == 'c' then
    calls = calls + amount
  else
    lentBefore = lentBefore + amount
  end
end

local left = math.floor(ratio * calls + reservePerSecond * windowMs / 1000 - lentBefore)
local lent = math.max(0, math.min(left, wanted))
if lent > 0 then redis.call('HINCRBY', windowKey, 'r' .. bucket, lent) end
redis.call('PEXPIRE', windowKey, math.ceil(windowMs * 2))
return { lent, math.max(0, left - lent) }
