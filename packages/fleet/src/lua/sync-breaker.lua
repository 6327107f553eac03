-- Exchanges what a node and the fleet know about a breaker.
--
-- If Redis has lost the state, the state of the node is stored, and published for nodes that have started since. If Redis has lost
-- it and another node has changed the breaker since, that change is kept, in an epoch above all others. Once nodes had different
-- settings, every node publishes its own, because a node whose settings differed before may have the same ones now.
--
-- KEYS, ARGV[1] to ARGV[3] and result: see breaker-prelude.lua
-- ARGV[4]   settings of the node, as text
-- ARGV[5]   state that the node knows
-- ARGV[6]   milliseconds left of the open duration
-- ARGV[7]   open duration in milliseconds
-- ARGV[8]   consecutive openings
-- ARGV[9]   failures
-- ARGV[10]  1 if the breaker is disabled
-- ARGV[11]  milliseconds since it opened
-- ARGV[12]  duration for which an operator tripped it, or 0
--
-- Result, added fields:
--   settings  the settings that were stored before
--   by        the node that stored them
--
-- Publishes { settings = text, of = id, node = node } if settings differ or differed before.

local settings = ARGV[4]
local state, left, openFor, openings, failures = ARGV[5], tonumber(ARGV[6]), ARGV[7], ARGV[8], ARGV[9]
local isDisabled, age = ARGV[10], tonumber(ARGV[11])

local storedSettings, storedBy = fields.settings, fields.settingsBy

if storedEpoch < knownEpoch then
  if storedEpoch == 0 then
    setField('state', state)
    setTime('until', now + left)
    setField('openFor', openFor)
    setField('tripFor', ARGV[12] or 0)
    setField('openings', openings)
    setField('failures', failures)
    setField('off', isDisabled)
    setField('node', node)
    setField('epoch', knownEpoch)
    setTime('openedAt', now - age)
  else
    setField('epoch', epochAfter(knownEpoch))
  end
  extendExpiry()
  publishState()
end

if storedSettings ~= settings then
  if storedSettings then setField('differed', 1) end
  setField('settings', settings)
  setField('settingsBy', node)
end
if storedSettings ~= settings or fields.differed then publish({ settings = settings, of = id, node = node }) end

extendExpiry()
return view({ settings = storedSettings or settings, by = storedBy or node })
