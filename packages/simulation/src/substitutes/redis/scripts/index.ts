import type { ScriptFunction } from '../script-context.js'
import {
  closeBreaker,
  commandBreaker,
  countResults,
  extendProbe,
  grantProbe,
  openBreaker,
  readBreaker,
  settleProbe,
  syncBreaker,
  vote,
} from './breaker.js'
import { appendEvents, borrowRetries, writeProbe } from './budget-and-events.js'
import { countLive, filterLive, heartbeat, leave } from './membership.js'
import {
  ejectMember,
  endCooldown,
  listCooldowns,
  listEjected,
  readCooldown,
  readmitMember,
  startCooldown,
} from './pools.js'

/**
 * The function of each script of `packages/fleet/src/lua/scripts.ts`, by the SHA-1 of the script that it was written for. A script
 * that has changed has another hash, so it has no function until this table is updated. A test compares both.
 */
export const SCRIPT_FUNCTIONS: ReadonlyMap<string, ScriptFunction> = new Map([
  ['62d6d2916ee4ff68ba8222d3e966001c7654b07a', readBreaker],
  ['8929e6e1f0dc37445b4529106275fbd266b6abc5', openBreaker],
  ['48d5e64a6a50c2b8a0248b0b923012337ca03315', closeBreaker],
  ['c97b8d1074ed14cd5dad87bc06b25dc017290737', commandBreaker],
  ['2fa227fb395ead931ae645e9a5aee0eec2109b05', grantProbe],
  ['d4790e9042a8b5f5144b22a07f828b36298bcd79', extendProbe],
  ['f02ea4dbf8a41b3d3e1ace2aeb8e4f3fca8f7559', settleProbe],
  ['1d5daf4c912a6be1fd5690e15f7cf05bbee40f0a', vote],
  ['fd196d8f069aca739a9d5983fcb05ffdb0b90f1d', countResults],
  ['7f5c5c824b8baa70b914876988f283e8b3a5d2b9', syncBreaker],
  ['d4c6d418f2f243c21b77a86d43b2c31d3f8b7f34', heartbeat],
  ['80a500686f11c8cc8e7afd5436ca07b355c986e3', countLive],
  ['f918212fcfe2969134a7cfde10cb9fec42ed0fa5', filterLive],
  ['70a772b30f2cdbd350397e1a278a142b7987bd26', leave],
  ['08df5251e5be8eb1e474882a4a436a26fdaa9912', ejectMember],
  ['1ddf2ed166c32fea4b1c9f0cae4c5b4da81c011d', readmitMember],
  ['471506c2735645a6e67ca1793f9c8f3dd1254e0c', listEjected],
  ['d9f0be02467e0f72536c720858bb1685652bce97', startCooldown],
  ['c312a1581977d63831ce36b5d397fcbefb050f73', endCooldown],
  ['d841566554a5e506d29d7db2a929bc2a4abf0026', readCooldown],
  ['ee454a2fa0741d754cffbd64ad461209c6baa66d', listCooldowns],
  ['83c3c20bdf37b6be81e9149388d110ba2cfe81f5', borrowRetries],
  ['572844067e57dba3890d9bd8f4f58ab263c41a26', appendEvents],
  ['6346e23208f22b62593be0f5b8d1887fb84c1ee6', writeProbe],
])
