-- Reads the state of a breaker.
--
-- KEYS, ARGV[1] to ARGV[3] and result: see breaker-prelude.lua

return view()
