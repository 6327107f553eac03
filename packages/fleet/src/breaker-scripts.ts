import { createScript } from './redis-connection.js'

/** Where nodes hear of each other. */
export const CHANNEL = 'holdfast:news'

/** The keys of one breaker. They share a hash tag, so that a script finds all of them in one slot. */
export const breakerKeys = (id: string) => [
  `holdfast:{${id}}:state`,
  `holdfast:{${id}}:round`,
  `holdfast:{${id}}:counts`,
]

/**
 * What every script of a breaker begins with. KEYS are its state, its round of votes and its counts; ARGV are the node, the
 * breaker's id, and the last epoch that the node knows of. An epoch is never less than the time, in tenths of a millisecond: so
 * they grow even where Redis has forgotten the last ones, all of them or some, and nobody who is left knows. For the same reason
 * an epoch that is a day ahead of the time was written by somebody else, or by a clock that was wrong: it counts as none, so that
 * it cannot keep the fleet where it stands. Other numbers that cannot be are read as 0.
 */
const SCRIPT_PRELUDE = `
local K, R, C = KEYS[1], KEYS[2], KEYS[3]
local node, id = ARGV[1], ARGV[2]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local day = 86400000
local function sane(text, most)
  local n = tonumber(text or '0')
  if not n or n ~= n or n < 0 or n > most then return 0 end
  return n
end
local function saneEpoch(text) return math.floor(sane(text, (now + day) * 10)) end
local seen = saneEpoch(ARGV[3])
local s = {}
local raw = redis.call('HGETALL', K)
for i = 1, #raw, 2 do s[raw[i]] = raw[i + 1] end
local function num(field)
  if field == 'epoch' then return saneEpoch(s.epoch) end
  return sane(s[field], now + 366 * day)
end
if s.state ~= 'open' and s.state ~= 'half_open' then s.state = s.state and 'closed' end
local stored = num('epoch')
local epoch = math.max(stored, seen)
local function after(last) return math.max(last + 1, time[1] * 10000 + math.floor(time[2] / 100)) end
local function view(more)
  local v = { id = id, node = s.node or '', epoch = math.max(num('epoch'), 0), state = s.state or 'closed',
    left = math.max(0, num('until') - now), openFor = num('openFor'), openings = num('openings'),
    failures = num('failures'), off = s.off == '1', now = now }
  if v.state ~= 'closed' and s.openedAt then v.age = math.max(0, now - num('openedAt')) end
  if more then for k, x in pairs(more) do v[k] = x end end
  return cjson.encode(v)
end
local function put(field, value)
  s[field] = tostring(value)
  redis.call('HSET', K, field, s[field])
end
local function keep() redis.call('PEXPIRE', K, 86400000 + math.max(0, math.floor(num('until') - now))) end
local function leases(drop)
  local live, first = 0, math.huge
  for field, value in pairs(s) do
    if string.sub(field, 1, 6) == 'lease:' then
      local ends = sane(value, now + 366 * day)
      if drop or ends <= now then redis.call('HDEL', K, field); s[field] = nil
      else live = live + 1; first = math.min(first, ends) end
    end
  end
  return live, first
end
local function news() redis.call('PUBLISH', '${CHANNEL}', view()) end
local function enter(state)
  leases(true)
  put('epoch', after(epoch)); put('state', state); put('node', node); put('granted', 0); put('successes', 0)
  redis.call('DEL', R, C)
end
local function open(openFor, openings, failures)
  if s.state ~= 'open' then put('openedAt', now) end
  enter('open')
  put('until', now + openFor); put('openFor', openFor); put('openings', openings); put('failures', failures)
  keep(); news()
end
local function close()
  enter('closed')
  put('until', 0); put('failures', 0); keep(); news()
end
`

const breakerScript = (text: string) => createScript(SCRIPT_PRELUDE + text)

/** Tells where the fleet stands, and changes nothing. */
export const READ = breakerScript('return view()')

/** Opens it, unless the fleet has moved on. ARGV: openFor, openings, failures. */
export const OPEN = breakerScript(`
if stored <= seen then open(tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])) end
return view()`)

/** Closes it, unless the fleet has moved on: a node that was alone has tested it. */
export const CLOSE = breakerScript(`
if stored <= seen and (s.state or 'closed') ~= 'closed' then close() end
return view()`)

/** Does what an operator asks, whatever the epoch. ARGV: order, openFor, openings, failures. */
export const COMMAND = breakerScript(`
local order = ARGV[4]
if order == 'trip' then open(tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]))
else
  if order == 'disable' then put('off', 1) elseif order == 'enable' then put('off', 0) end
  close()
end
return view()`)

/**
 * Gives leave for one test. In one epoch there are never more than `max` of them: when all have ended without a change of
 * state, the next epoch begins. ARGV: max, how long it may wait for its caller, how much before its time it may be asked for.
 */
export const GRANT_PROBE = breakerScript(`
local max, hold, ahead = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
if (s.state or 'closed') == 'closed' then return view() end
if s.state == 'open' then
  local early = num('until') - now
  if early > ahead then return view({ wait = early }) end
  put('epoch', after(epoch)); put('state', 'half_open'); put('granted', 0); put('successes', 0)
end
local live, first = leases(false)
if num('granted') >= max then
  if live > 0 then return view({ wait = first - now }) end
  put('epoch', after(num('epoch'))); put('granted', 0)
end
local token = num('epoch') .. ':' .. (num('granted') + 1)
put('granted', num('granted') + 1)
put('lease:' .. token, math.max(now, num('until')) + hold)
keep()
return view({ token = token, early = math.max(0, num('until') - now) })`)

/** A test has begun, and may take so long. ARGV: token, milliseconds. */
export const EXTEND_PROBE = breakerScript(`
leases(false)
if not s['lease:' .. ARGV[4]] then return view({ gone = true }) end
put('lease:' .. ARGV[4], now + tonumber(ARGV[5]))
return view()`)

/**
 * Takes the result of a test, if its lease still holds. ARGV: token, outcome (success, failure, or nothing), successes that
 * close it, openFor, openings, failures.
 */
export const SETTLE_PROBE = breakerScript(`
leases(false)
local field = 'lease:' .. ARGV[4]
if not s[field] then return view({ gone = true }) end
redis.call('HDEL', K, field); s[field] = nil
epoch = num('epoch')
if ARGV[5] == 'failure' then open(tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9]))
else
  if ARGV[5] == 'success' then put('successes', num('successes') + 1) end
  if ARGV[5] == 'success' and num('successes') >= tonumber(ARGV[6]) then close() else news() end
end
return view()`)

/**
 * A vote on whether it fails. A node that sees it failing begins a round, in which all others are asked. It opens as soon as
 * more than the quorum of all live nodes see it failing, or, when all have answered or the round is over, more than the quorum
 * of those that have a vote. ARGV: openFor, openings, failures, quorum, the vote (f for failing, h for healthy, n for no vote,
 * empty where the round is over), the round that was asked (empty for one that begins or joins a round), and how many nodes
 * live, from one that begins or joins a round: the last count holds for all who answer.
 */
export const VOTE = breakerScript(`
local quorum, vote, round = tonumber(ARGV[7]), ARGV[8], ARGV[9]
if stored > seen or (s.state or 'closed') ~= 'closed' then return view() end
local at = redis.call('HGET', R, 'at')
if vote == 'f' and round == '' and now - sane(at, now) > 1000 then
  round = string.format('%.0f', now)
  redis.call('DEL', R)
  redis.call('HSET', R, 'at', round)
  redis.call('PUBLISH', '${CHANNEL}', cjson.encode({ ask = id, round = round, node = node }))
elseif round ~= '' and round ~= at then return view() end
if vote ~= '' then
  redis.call('HSET', R, 'n:' .. node, vote)
  if ARGV[10] then redis.call('HSET', R, 'live', ARGV[10]) end
  redis.call('PEXPIRE', R, 10000)
end
local failing, voters, answers, live = 0, 0, 0, 2
local all = redis.call('HGETALL', R)
for i = 1, #all, 2 do
  local one = all[i + 1]
  if all[i] == 'live' then live = math.max(1, tonumber(one) or 2)
  elseif all[i] ~= 'at' then
    answers = answers + 1
    if one == 'f' then failing = failing + 1 end
    if one == 'f' or one == 'h' then voters = voters + 1 end
  end
end
if vote ~= '' and answers < live then voters = math.max(live, voters) end
if failing >= math.min(2, live) and failing > quorum * voters then
  open(tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]))
end
return view()`)

/**
 * Adds what a node has counted to the fleet's window, and opens it where that is enough. ARGV: calls, failures, window,
 * threshold, rate (0 for none), calls a rate needs, whether a success came first in a consecutive window, openFor, openings.
 */
export const COUNT = breakerScript(`
if stored > seen or (s.state or 'closed') ~= 'closed' then return view() end
local window, rate = tonumber(ARGV[6]), tonumber(ARGV[8])
if ARGV[10] == '1' then redis.call('DEL', C) end
local part = math.floor(now / (window / 32))
redis.call('HINCRBY', C, 'c' .. part, ARGV[4])
redis.call('HINCRBY', C, 'f' .. part, ARGV[5])
redis.call('PEXPIRE', C, math.ceil(window * 2))
local calls, failures = 0, 0
local all = redis.call('HGETALL', C)
for i = 1, #all, 2 do
  local of = tonumber(string.sub(all[i], 2)) or 0
  if of < part - 32 or of > part then redis.call('HDEL', C, all[i])
  elseif string.sub(all[i], 1, 1) == 'c' then calls = calls + sane(all[i + 1], 1e12)
  else failures = failures + sane(all[i + 1], 1e12) end
end
local enough = failures >= tonumber(ARGV[7])
if rate > 0 then enough = calls >= tonumber(ARGV[9]) and failures / calls >= rate end
if enough then open(tonumber(ARGV[11]), tonumber(ARGV[12]), failures) end
return view()`)

/**
 * Says what a node knows, and learns what the fleet knows. Where Redis has forgotten, the node's word is taken; where it
 * forgot and somebody has acted since, that stands, in an epoch above all. Once nodes had different settings all say theirs:
 * whoever was a stranger may be none any more. ARGV: settings, state, left, openFor, openings, failures, off, how long ago it
 * opened.
 */
export const SYNC = breakerScript(`
local others, by = s.settings, s.settingsBy
if stored < seen then
  if stored == 0 then
    put('state', ARGV[5]); put('until', now + tonumber(ARGV[6])); put('openFor', ARGV[7]); put('openings', ARGV[8])
    put('failures', ARGV[9]); put('off', ARGV[10]); put('node', node); put('epoch', seen)
    put('openedAt', now - tonumber(ARGV[11]))
  else put('epoch', after(seen)); keep(); news() end
end
if others ~= ARGV[4] then
  if others then put('differed', 1) end
  put('settings', ARGV[4]); put('settingsBy', node)
end
if others ~= ARGV[4] or s.differed then
  redis.call('PUBLISH', '${CHANNEL}', cjson.encode({ settings = ARGV[4], of = id, node = node }))
end
keep()
return view({ settings = others or ARGV[4], by = by or node })`)
