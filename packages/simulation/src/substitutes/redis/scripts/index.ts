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
  ['180abd9df8386f93212e1e040d8130f231374ab4', readBreaker],
  ['b4ce0fad74b022a9d65cd5e1b641732e189a5b40', openBreaker],
  ['8dc4ec99a2e423834a941e74a12c80b65c31661e', closeBreaker],
  ['b53bb8b0bb92bffbd2e3a8fb5c83842cf56140fa', commandBreaker],
  ['121701cf31acb163c60b0edebd7cc0f8440100ac', grantProbe],
  ['9bd23dc1eb64ac29d160d62c7c60cdea98f87a44', extendProbe],
  ['6d3c8f1ad8d53738ffcd5245ac62de0caaf260a3', settleProbe],
  ['8a2b377b9e2619487e46e4efbf37f6a1566a8913', vote],
  ['99fd801506d5119ec0f10f6540a09cda8fda2081', countResults],
  ['819fbbd52d6bf6886d883ca73abeded24dceb511', syncBreaker],
  ['d4c6d418f2f243c21b77a86d43b2c31d3f8b7f34', heartbeat],
  ['80a500686f11c8cc8e7afd5436ca07b355c986e3', countLive],
  ['f918212fcfe2969134a7cfde10cb9fec42ed0fa5', filterLive],
  ['70a772b30f2cdbd350397e1a278a142b7987bd26', leave],
  ['08df5251e5be8eb1e474882a4a436a26fdaa9912', ejectMember],
  ['1ddf2ed166c32fea4b1c9f0cae4c5b4da81c011d', readmitMember],
  ['471506c2735645a6e67ca1793f9c8f3dd1254e0c', listEjected],
  ['c34fd15c2e876c56db67d663e9b1fe17b0656afa', startCooldown],
  ['fbaa3dcaa8fe0d03c57aa72733625e77ffb7ecb4', endCooldown],
  ['006681edf846bbb11f526c7d2eb268c1198ea377', readCooldown],
  ['9d8604b4ee015a84fa520d341e4fc776b0dbcb8e', listCooldowns],
  ['83c3c20bdf37b6be81e9149388d110ba2cfe81f5', borrowRetries],
  ['572844067e57dba3890d9bd8f4f58ab263c41a26', appendEvents],
  ['6346e23208f22b62593be0f5b8d1887fb84c1ee6', writeProbe],
])
