-- Carries out a command of an operator, in whatever epoch.
--
-- KEYS, ARGV[1] to ARGV[3] and result: see breaker-prelude.lua
-- ARGV[4]  trip, reset, disable or enable
-- ARGV[5]  open duration in milliseconds, for trip
-- ARGV[6]  consecutive openings, for trip
-- ARGV[7]  failures, for trip
-- ARGV[8]  duration for which an operator trips it; 0 if its settings determine the open duration

local command = ARGV[4]
local openFor, openings, failures = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])

if command == 'trip' then
  open(openFor, openings, failures, tonumber(ARGV[8]))
else
  if command == 'disable' then setField('off', 1) elseif command == 'enable' then setField('off', 0) end
  close()
end
return view()
