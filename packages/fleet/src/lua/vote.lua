-- Submits a vote on whether a breaker fails, and opens the breaker if the quorum is reached.
--
-- A node that sees the breaker failing begins a round, in which all other nodes are asked. The breaker opens as soon as more
-- than the quorum of all live nodes see it failing. When every node has answered, or the round is over, more than the quorum of
-- those nodes that have a vote is enough.
--
-- KEYS, ARGV[1] to ARGV[3] and result: see breaker-prelude.lua
-- ARGV[4]   open duration in milliseconds
-- ARGV[5]   consecutive openings
-- ARGV[6]   failures
-- ARGV[7]   quorum: a fraction of the nodes
-- ARGV[8]   vote: f (failing), h (healthy), n (no vote), or empty when the round is over
-- ARGV[9]   round that is answered; empty from a node that begins or joins a round
-- ARGV[10]  number of live nodes, from a node that begins or joins a round; the last one is used for all answers
--
-- Publishes { ask = id, round = round, node = node } when a round begins.

local openFor, openings, failures = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local quorum, vote, round, liveCount = tonumber(ARGV[7]), ARGV[8], ARGV[9], ARGV[10]

local NEW_ROUND_AFTER_MS = 1000
local ROUND_TTL_MS = 10000
-- Used until a node has reported the number of live nodes: one node alone must not decide.
local ASSUMED_NODES = 2

if storedEpoch > knownEpoch or not isClosed() then return view() end

local currentRound = redis.call('HGET', roundKey, 'at')
if vote == 'f' and round == '' and now - numberUpTo(currentRound, now) > NEW_ROUND_AFTER_MS then
  round = string.format('%.0f', now)
  redis.call('DEL', roundKey)
  redis.call('HSET', roundKey, 'at', round)
  publish({ ask = id, round = round, node = node })
elseif round ~= '' and round ~= currentRound then
  return view()
end

if vote ~= '' then
  redis.call('HSET', roundKey, 'n:' .. node, vote)
  if liveCount then redis.call('HSET', roundKey, 'live', liveCount) end
  redis.call('PEXPIRE', roundKey, ROUND_TTL_MS)
end

local failing, voters, answers, live = 0, 0, 0, ASSUMED_NODES
local entries = redis.call('HGETALL', roundKey)
for i = 1, #entries, 2 do
  local field, value = entries[i], entries[i + 1]
  if field == 'live' then
    live = math.max(1, tonumber(value) or ASSUMED_NODES)
  elseif field ~= 'at' then
    answers = answers + 1
    if value == 'f' then failing = failing + 1 end
    if value == 'f' or value == 'h' then voters = voters + 1 end
  end
end
-- A node that has not answered yet counts as one that sees the breaker healthy.
if vote ~= '' and answers < live then voters = math.max(live, voters) end

if failing >= math.min(2, live) and failing > quorum * voters then open(openFor, openings, failures) end
return view()
