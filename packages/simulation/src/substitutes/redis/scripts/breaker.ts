import { luaNumber, luaText } from '../lua-number.js'
import type { ScriptFunction } from '../script-context.js'
import { BreakerState, numberUpTo } from './breaker-state.js'

/** `read-breaker.lua` */
export const readBreaker: ScriptFunction = (context) => new BreakerState(context).view()

/** `open-breaker.lua` */
export const openBreaker: ScriptFunction = (context) => {
  const breaker = new BreakerState(context)
  const [openFor, openings, failures] = [4, 5, 6].map((position) => breaker.numberArgument(position))
  if (breaker.storedEpoch <= breaker.knownEpoch) breaker.open(openFor ?? 0, openings ?? 0, failures ?? 0)
  return breaker.view()
}

/** `close-breaker.lua` */
export const closeBreaker: ScriptFunction = (context) => {
  const breaker = new BreakerState(context)
  if (breaker.storedEpoch <= breaker.knownEpoch && !breaker.isClosed) breaker.close()
  return breaker.view()
}

/** `command-breaker.lua` */
export const commandBreaker: ScriptFunction = (context) => {
  const breaker = new BreakerState(context)
  const command = breaker.argument(4)
  if (command === 'trip') {
    const [openFor, openings, failures, tripFor] = [5, 6, 7, 8].map((position) =>
      breaker.numberArgument(position),
    )
    breaker.open(openFor ?? 0, openings ?? 0, failures ?? 0, tripFor)
    return breaker.view()
  }
  if (command === 'disable') breaker.setField('off', 1)
  else if (command === 'enable') breaker.setField('off', 0)
  breaker.close()
  return breaker.view()
}

/** `grant-probe.lua` */
export const grantProbe: ScriptFunction = (context) => {
  const breaker = new BreakerState(context)
  const { now } = breaker
  const maxProbes = breaker.numberArgument(4)
  const leaseMs = breaker.numberArgument(5)
  const aheadMs = breaker.numberArgument(6)
  const holdMs = breaker.numberArgument(7)
  if (breaker.isClosed) return breaker.view()
  if (breaker.state === 'open') {
    const remaining = breaker.getNumber('until') - now
    if (remaining > aheadMs) return breaker.view({ wait: remaining })
    breaker.setField('epoch', breaker.epochAfter(breaker.lastEpoch))
    breaker.setField('state', 'half_open')
    breaker.setField('granted', 0)
    breaker.setField('successes', 0)
  }
  const { live, firstEnd } = breaker.deleteLeases(false)
  if (breaker.getNumber('granted') >= maxProbes) {
    if (live > 0) {
      if (breaker.field('wantedHold') === undefined || holdMs < breaker.getNumber('wantedHold'))
        breaker.setField('wantedHold', holdMs)
      return breaker.view({ wait: firstEnd - now })
    }
    breaker.setField('epoch', breaker.epochAfter(breaker.getNumber('epoch')))
    breaker.setField('granted', 0)
  }
  const granted = breaker.getNumber('granted') + 1
  const token = `${luaText(breaker.getNumber('epoch'))}:${luaText(granted)}`
  breaker.setField('granted', granted)
  breaker.setTime(`lease:${token}`, Math.max(now, breaker.getNumber('until')) + leaseMs)
  breaker.deleteField('wantedHold')
  breaker.extendExpiry()
  return breaker.view({ token, early: Math.max(0, breaker.getNumber('until') - now) })
}

/** `extend-probe.lua` */
export const extendProbe: ScriptFunction = (context) => {
  const breaker = new BreakerState(context)
  const leaseField = `lease:${breaker.argument(4)}`
  breaker.deleteLeases(false)
  if (breaker.field(leaseField) === undefined) return breaker.view({ gone: true })
  breaker.setTime(leaseField, breaker.now + breaker.numberArgument(5))
  if (breaker.argument(6) === undefined) return breaker.view()
  const wanted =
    breaker.field('wantedHold') !== undefined && breaker.getNumber('wantedHold') < breaker.numberArgument(6)
  breaker.deleteField('wantedHold')
  return breaker.view({ wanted })
}

/** `settle-probe.lua` */
export const settleProbe: ScriptFunction = (context) => {
  const breaker = new BreakerState(context)
  const leaseField = `lease:${breaker.argument(4)}`
  const outcome = breaker.argument(5)
  breaker.deleteLeases(false)
  if (breaker.field(leaseField) === undefined) return breaker.view({ gone: true })
  breaker.deleteField(leaseField)
  breaker.lastEpoch = breaker.getNumber('epoch')
  if (outcome === 'failure') {
    const [openFor, openings, failures] = [7, 8, 9].map((position) => breaker.numberArgument(position))
    breaker.open(openFor ?? 0, openings ?? 0, failures ?? 0)
    return breaker.view()
  }
  const isSuccess = outcome === 'success'
  if (isSuccess) breaker.setField('successes', breaker.getNumber('successes') + 1)
  if (isSuccess && breaker.getNumber('successes') >= breaker.numberArgument(6)) breaker.close()
  else breaker.publishState()
  return breaker.view()
}

const NEW_ROUND_AFTER_MS = 1000
const ROUND_TTL_MS = 10_000
const ASSUMED_NODES = 2

/** `vote.lua` */
export const vote: ScriptFunction = (context) => {
  const breaker = new BreakerState(context)
  const { roundKey, now, id, node } = breaker
  const [openFor, openings, failures] = [4, 5, 6].map((position) => breaker.numberArgument(position))
  const quorum = breaker.numberArgument(7)
  const opinion = breaker.argument(8)
  let round = breaker.argument(9) ?? ''
  const liveCount = breaker.argument(10)
  if (breaker.storedEpoch > breaker.knownEpoch || !breaker.isClosed) return breaker.view()

  const currentRound = context.call('HGET', roundKey, 'at') as string | null
  if (opinion === 'f' && round === '' && now - numberUpTo(currentRound, now) > NEW_ROUND_AFTER_MS) {
    round = String(now)
    context.call('DEL', roundKey)
    context.call('HSET', roundKey, 'at', round)
    context.publish({ ask: id, round, node })
  } else if (round !== '' && round !== currentRound) return breaker.view()

  if (opinion !== '') {
    context.call('HSET', roundKey, `n:${node}`, opinion ?? '')
    if (liveCount !== undefined) context.call('HSET', roundKey, 'live', liveCount)
    context.call('PEXPIRE', roundKey, ROUND_TTL_MS)
  }

  let [failing, voters, answers, live] = [0, 0, 0, ASSUMED_NODES]
  const entries = context.call('HGETALL', roundKey) as string[]
  for (let i = 0; i < entries.length; i += 2) {
    const [field, value] = [entries[i], entries[i + 1]]
    if (field === 'live') live = Math.max(1, luaNumber(value) ?? ASSUMED_NODES)
    else if (field !== 'at') {
      answers++
      if (value === 'f') failing++
      if (value === 'f' || value === 'h') voters++
    }
  }
  if (opinion !== '' && answers < live) voters = Math.max(live, voters)
  if (failing >= Math.min(2, live) && failing > quorum * voters)
    breaker.open(openFor ?? 0, openings ?? 0, failures ?? 0)
  return breaker.view()
}

const BUCKETS = 32
const MAX_COUNT = 1e12

/** `count-results.lua` */
export const countResults: ScriptFunction = (context) => {
  const breaker = new BreakerState(context)
  const { countsKey, now } = breaker
  const windowMs = breaker.numberArgument(6)
  const failureThreshold = breaker.numberArgument(7)
  const failureRate = breaker.numberArgument(8)
  const minimumCalls = breaker.numberArgument(9)
  if (breaker.storedEpoch > breaker.knownEpoch || !breaker.isClosed) return breaker.view()

  if (breaker.argument(10) === '1') context.call('DEL', countsKey)
  const bucket = Math.floor(now / (windowMs / BUCKETS))
  context.call('HINCRBY', countsKey, `c${luaText(bucket)}`, breaker.argument(4) ?? '')
  context.call('HINCRBY', countsKey, `f${luaText(bucket)}`, breaker.argument(5) ?? '')
  context.call('PEXPIRE', countsKey, Math.ceil(windowMs * 2))

  let [calls, failures] = [0, 0]
  const entries = context.call('HGETALL', countsKey) as string[]
  for (let i = 0; i < entries.length; i += 2) {
    const [field = '', value] = [entries[i], entries[i + 1]]
    const entryBucket = luaNumber(field.slice(1)) ?? 0
    if (entryBucket < bucket - BUCKETS || entryBucket > bucket) context.call('HDEL', countsKey, field)
    else if (field.startsWith('c')) calls += numberUpTo(value, MAX_COUNT)
    else failures += numberUpTo(value, MAX_COUNT)
  }
  const isReached =
    failureRate > 0 ? calls >= minimumCalls && failures / calls >= failureRate : failures >= failureThreshold
  if (isReached) breaker.open(breaker.numberArgument(11), breaker.numberArgument(12), failures)
  return breaker.view()
}

/** `sync-breaker.lua` */
export const syncBreaker: ScriptFunction = (context) => {
  const breaker = new BreakerState(context)
  const { now, node, id, knownEpoch, storedEpoch } = breaker
  const settings = breaker.argument(4) ?? ''
  const storedSettings = breaker.field('settings')
  const storedBy = breaker.field('settingsBy')
  if (storedEpoch < knownEpoch) {
    if (storedEpoch === 0) {
      breaker.setField('state', breaker.argument(5) ?? '')
      breaker.setTime('until', now + breaker.numberArgument(6))
      breaker.setField('openFor', breaker.argument(7) ?? '')
      breaker.setField('tripFor', breaker.argument(12) ?? 0)
      breaker.setField('openings', breaker.argument(8) ?? '')
      breaker.setField('failures', breaker.argument(9) ?? '')
      breaker.setField('off', breaker.argument(10) ?? '')
      breaker.setField('node', node)
      breaker.setField('epoch', knownEpoch)
      breaker.setTime('openedAt', now - breaker.numberArgument(11))
    } else breaker.setField('epoch', breaker.epochAfter(knownEpoch))
    breaker.extendExpiry()
    breaker.publishState()
  }
  if (storedSettings !== settings) {
    if (storedSettings !== undefined) breaker.setField('differed', 1)
    breaker.setField('settings', settings)
    breaker.setField('settingsBy', node)
  }
  if (storedSettings !== settings || breaker.field('differed') !== undefined)
    context.publish({ settings, of: id, node })
  breaker.extendExpiry()
  return breaker.view({ settings: storedSettings ?? settings, by: storedBy ?? node })
}
