import { CHANNEL } from './breaker-scripts.js'
import { createScript } from './redis-connection.js'

/** A node lives. KEYS: live nodes, their records. ARGV: node, record, how long it lives without another word. */
export const HEARTBEAT = createScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local known = redis.call('ZSCORE', KEYS[1], ARGV[1])
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
local gone = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now)
for _, node in ipairs(gone) do
  redis.call('ZREM', KEYS[1], node); redis.call('HDEL', KEYS[2], node)
  redis.call('PUBLISH', '${CHANNEL}', cjson.encode({ left = true, node = node }))
end
if not known then redis.call('PUBLISH', '${CHANNEL}', cjson.encode({ joined = true, node = ARGV[1] })) end
for i = 1, 2 do redis.call('PEXPIRE', KEYS[i], 86400000) end
return { known and 1 or 0, redis.call('ZCARD', KEYS[1]), now }`)

/** How many live, and whether a node is among them. KEYS: live nodes. ARGV: node. */
export const COUNT_LIVE = createScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local live = redis.call('ZCOUNT', KEYS[1], '(' .. string.format('%.0f', now), '+inf')
return { live, redis.call('ZSCORE', KEYS[1], ARGV[1]) and 1 or 0 }`)

/** Those of some nodes that live. KEYS: live nodes. ARGV: the nodes. */
export const FILTER_LIVE = createScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local there = {}
for _, node in ipairs(ARGV) do
  if tonumber(redis.call('ZSCORE', KEYS[1], node) or '0') > now then there[#there + 1] = node end
end
return there`)

/** A node leaves. KEYS and ARGV as above. */
export const LEAVE = createScript(`
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('PUBLISH', '${CHANNEL}', cjson.encode({ left = true, node = ARGV[1] }))
return 1`)

/** Adds events to the stream. KEYS: the stream. ARGV: node, how many are kept, for how long after the last, the events. */
export const APPEND = createScript(`
for i = 4, #ARGV do
  redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], '*', 'node', ARGV[1], 'event', ARGV[i])
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1`)

/**
 * A member of a pool is not closed for the fleet, since an epoch. KEYS: those of its pool, by epoch. ARGV: the breaker's id,
 * epoch, for how long that is of use.
 */
export const EJECT = createScript(`
redis.call('ZADD', KEYS[1], 'GT', ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[1], math.max(tonumber(ARGV[3]), redis.call('PTTL', KEYS[1])))
return 1`)

/** A member is closed for the fleet, unless a later epoch says otherwise. KEYS and ARGV as above. */
export const READMIT = createScript(`
local since = redis.call('ZSCORE', KEYS[1], ARGV[1])
if since and tonumber(since) <= tonumber(ARGV[2]) then redis.call('ZREM', KEYS[1], ARGV[1]) end
return 1`)

/** The members that are not closed, each followed by its epoch. A script's answer has one form in every protocol. */
export const LIST_EJECTED = createScript("return redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')")

/** What the scripts of a pool's rests begin with. KEYS: its rests, members by the time that they end. */
const COOLDOWN_PRELUDE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local function news(left)
  redis.call('PUBLISH', '${CHANNEL}', cjson.encode({ rest = ARGV[2], member = ARGV[3], left = left, node = ARGV[1] }))
end
`

/** A member rests, and never for less than it would have. ARGV: node, pool, member, milliseconds. */
export const START_COOLDOWN = createScript(`${COOLDOWN_PRELUDE}
local left = tonumber(ARGV[4])
if now + left > tonumber(redis.call('ZSCORE', KEYS[1], ARGV[3]) or '0') then
  redis.call('ZADD', KEYS[1], now + left, ARGV[3])
  redis.call('PEXPIRE', KEYS[1], math.max(left, redis.call('PTTL', KEYS[1])))
  news(left)
end
return 1`)

/** The rest of a member was ended. ARGV: node, pool, member. */
export const END_COOLDOWN = createScript(`${COOLDOWN_PRELUDE}
redis.call('ZREM', KEYS[1], ARGV[3])
news(0)
return 1`)

/** For how long a member rests; 0 where it does not. ARGV: node, pool, member. */
export const REST_OF = createScript(`${COOLDOWN_PRELUDE}
local ends = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[3]) or '0')
return { { ARGV[3], math.max(0, ends - now) } }`)

/** Who rests, and for how long. */
export const LIST_COOLDOWNS = createScript(`${COOLDOWN_PRELUDE}
local all = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
local resting = {}
for i = 1, #all, 2 do resting[#resting + 1] = { all[i], tonumber(all[i + 1]) - now } end
return resting`)

/**
 * Lends retries of a budget that the fleet shares. KEYS: its window. ARGV: calls made since, retries wanted, ratio, reserve
 * per second, window. It answers what it lends and what is left then.
 */
export const BORROW = createScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local window = tonumber(ARGV[5])
local part = math.floor(now / (window / 32))
redis.call('HINCRBY', KEYS[1], 'c' .. part, ARGV[1])
local calls, taken = 0, 0
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local of, amount = tonumber(string.sub(all[i], 2)) or 0, tonumber(all[i + 1]) or 0
  if of <= part - 32 or of > part then redis.call('HDEL', KEYS[1], all[i])
  elseif string.sub(all[i], 1, 1) == 'c' then calls = calls + amount
  else taken = taken + amount end
end
local left = math.floor(tonumber(ARGV[3]) * calls + tonumber(ARGV[4]) * window / 1000 - taken)
local lent = math.max(0, math.min(left, tonumber(ARGV[2])))
if lent > 0 then redis.call('HINCRBY', KEYS[1], 'r' .. part, lent) end
redis.call('PEXPIRE', KEYS[1], math.ceil(window * 2))
return { lent, math.max(0, left - lent) }`)
