import { createHash } from 'node:crypto'
import appendEvents from './append-events.lua'
import borrowRetries from './borrow-retries.lua'
import breakerPrelude from './breaker-prelude.lua'
import closeBreaker from './close-breaker.lua'
import commandBreaker from './command-breaker.lua'
import cooldownPrelude from './cooldown-prelude.lua'
import countLive from './count-live.lua'
import countResults from './count-results.lua'
import ejectMember from './eject-member.lua'
import endCooldown from './end-cooldown.lua'
import extendProbe from './extend-probe.lua'
import filterLive from './filter-live.lua'
import grantProbe from './grant-probe.lua'
import heartbeat from './heartbeat.lua'
import leave from './leave.lua'
import listCooldowns from './list-cooldowns.lua'
import listEjected from './list-ejected.lua'
import openBreaker from './open-breaker.lua'
import prelude from './prelude.lua'
import readBreaker from './read-breaker.lua'
import readCooldown from './read-cooldown.lua'
import readmitMember from './readmit-member.lua'
import settleProbe from './settle-probe.lua'
import startCooldown from './start-cooldown.lua'
import syncBreaker from './sync-breaker.lua'
import vote from './vote.lua'
import writeProbe from './write-probe.lua'

/** The channel on which nodes publish messages in database 0. `prelude.lua` has the same text. */
export const CHANNEL = 'holdfast:news'

/** A script, with the hash by which Redis knows it. */
export interface RedisScript {
  readonly text: string
  readonly sha: string
}

const createScript = (text: string): RedisScript => ({
  text,
  sha: createHash('sha1').update(text).digest('hex'),
})

/** The script as it is sent to a database that has its own channel. */
export const withChannel = ({ text }: RedisScript, channel: string): RedisScript =>
  createScript(text.replaceAll(`'${CHANNEL}'`, `'${channel}'`))

const breakerScript = (text: string) => createScript(prelude + breakerPrelude + text)
const cooldownScript = (text: string) => createScript(prelude + cooldownPrelude + text)

export const READ = breakerScript(readBreaker)
export const OPEN = breakerScript(openBreaker)
export const CLOSE = breakerScript(closeBreaker)
export const COMMAND = breakerScript(commandBreaker)
export const GRANT_PROBE = breakerScript(grantProbe)
export const EXTEND_PROBE = breakerScript(extendProbe)
export const SETTLE_PROBE = breakerScript(settleProbe)
export const VOTE = breakerScript(vote)
export const COUNT = breakerScript(countResults)
export const SYNC = breakerScript(syncBreaker)

export const HEARTBEAT = createScript(prelude + heartbeat)
export const COUNT_LIVE = createScript(prelude + countLive)
export const FILTER_LIVE = createScript(prelude + filterLive)
export const LEAVE = createScript(prelude + leave)

export const EJECT = createScript(ejectMember)
export const READMIT = createScript(readmitMember)
export const LIST_EJECTED = createScript(listEjected)

export const START_COOLDOWN = cooldownScript(startCooldown)
export const END_COOLDOWN = cooldownScript(endCooldown)
export const READ_COOLDOWN = cooldownScript(readCooldown)
export const LIST_COOLDOWNS = cooldownScript(listCooldowns)

export const BORROW = createScript(prelude + borrowRetries)
export const APPEND = createScript(appendEvents)
export const WRITE_PROBE = createScript(writeProbe)
