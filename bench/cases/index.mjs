import { collection } from './collection.mjs'
import { failing } from './failing.mjs'
import { fetching } from './fetch.mjs'
import { fleet } from './fleet.mjs'
import { load } from './load.mjs'
import { loading } from './loading.mjs'
import { poolEffect } from './pool-effect.mjs'
import { poolGuard } from './pool-guard.mjs'
import { poolMembers } from './pool-members.mjs'
import { poolPicks } from './pool-picks.mjs'
import { poolTogether } from './pool-together.mjs'
import { postgres } from './postgres.mjs'
import { proxy, proxyMemory } from './proxy.mjs'
import { refusal } from './refusal.mjs'
import { resting } from './resting.mjs'
import { runtime } from './runtime.mjs'
import { server } from './server.mjs'
import { sizes } from './sizes.mjs'
import { sqlite } from './sqlite.mjs'
import { success } from './success.mjs'
import { timeouts } from './timeouts.mjs'

/**
 * @typedef {'times' | 'nanoseconds' | 'milliseconds' | 'bytes' | 'percent' | 'count'} Unit
 *
 * @typedef {object} Metric something that is measured of every subject; less is better
 * @property {string} key its samples' name in what a subject's `measure` yields
 * @property {string} title
 * @property {Unit} unit
 * @property {boolean} [spread] whether its middle half is shown
 *
 * @typedef {object} Subject
 * @property {string} label
 * @property {Record<string, number>} [bounds] by metric: what it must not exceed
 * @property {() => Promise<Measured>} measure runs in a process of its own
 *
 * @typedef {object} Measured
 * @property {Record<string, number[]>} samples by metric
 * @property {Record<string, boolean>} [checks] what else must be true, in words
 *
 * @typedef {object} Case
 * @property {string} name
 * @property {string} title
 * @property {string} note what is compared, in a sentence or two
 * @property {Metric[]} metrics
 * @property {number} rounds how many processes measure a subject: what V8 makes of the same code differs between them
 * @property {Subject[]} subjects
 */

/** @type {Case[]} in the order in which they are measured and told */
export const cases = [
  success,
  timeouts,
  load,
  refusal,
  ...failing,
  collection,
  resting,
  poolPicks,
  poolGuard,
  poolMembers,
  poolTogether,
  poolEffect,
  ...runtime,
  ...server,
  ...fetching,
  ...sqlite,
  ...fleet,
  ...postgres,
  proxy,
  proxyMemory,
  loading,
  sizes,
]
