-- The beginning of every script that needs the time of Redis or publishes a message.
--
-- Defines:
--   CHANNEL  where nodes receive messages; a node in another database than 0 sends the script with its own channel here
--   time     the time of Redis: seconds since 1970, and microseconds
--   now      the same in milliseconds
--   publish  sends a message to all nodes

local CHANNEL = 'holdfast:news'
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function publish(message) redis.call('PUBLISH', CHANNEL, cjson.encode(message)) end
