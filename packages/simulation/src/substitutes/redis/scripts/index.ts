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
  ['e3a035f93d0bc137a007b087203411322a94f1fe', readBreaker],
  ['2b551fbb38e1c1d62a52f44febb2b66767f8ec5f', openBreaker],
  ['540aec21f6b1ac53a899fa1728e3f1ff70a0fcfc', closeBreaker],
  ['d6e21658b9e55cf839ab7dbb4b5f911bdfc9ba56', commandBreaker],
  ['2fbe5457c65ca476be5dc49daa0cc61c209a9b36', grantProbe],
  ['498ca6868ec0c28f2f0fd6e5c119be6129cecf4d', extendProbe],
  ['eaabe9d4319215e5ab6431deee3f8b8e81a489cd', settleProbe],
  ['f2f28ca0d381920a8ae81a6c0c2e1d562c0c44e9', vote],
  ['ad9d1d9184559c19179b8a2dd00071d5ec675eba', countResults],
  ['34dbeabff2074f91daaa80ce6d69e9be36f4af04', syncBreaker],
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
