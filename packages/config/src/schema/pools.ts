import { STRATEGY_NAMES } from 'holdfast/internal'
import { z } from 'zod'
import { CONFIG_DEFAULTS } from '../defaults.js'
import { breakerEntrySchema } from './breaker.js'
import {
  absentKey,
  anyString,
  fraction,
  httpStatus,
  listOf,
  nonEmptyString,
  nonNegativeNumber,
  oneOf,
  optionalKey,
  positiveDuration,
  requiredKey,
  urlWithScheme,
} from './fields.js'

/** The settings of a member, which its changes can have too. */
export const memberSettings = {
  url: requiredKey(
    urlWithScheme('http', 'https', 'socks5', 'socks5h'),
    'The URL of the member; can contain credentials. socks5:// and socks5h:// are equivalent: the proxy resolves host names.',
  ),
  weight: optionalKey(nonNegativeNumber(), 'The relative frequency with which the member is selected.', 1),
  region: absentKey(anyString(), 'The region of the member.', 'none'),
  cost: optionalKey(nonNegativeNumber(), 'The cost of a call through the member.', 0),
  tags: absentKey(listOf(anyString()), 'Labels of the member.', 'none'),
  circuit_breaker: absentKey(
    breakerEntrySchema.clone(),
    'Settings of the breaker of this member. They take precedence over those of the pool.',
    'the settings of the pool',
  ),
}

/** A member of a pool. */
const memberSchema = z.strictObject({
  id: absentKey(nonEmptyString(), 'The id of the member.', 'host and port of its url'),
  ...memberSettings,
})

/** A pool. */
export const poolSchema = z.strictObject({
  strategy: optionalKey(oneOf(...STRATEGY_NAMES), 'How a member is selected.', 'round_robin'),
  policy: absentKey(
    nonEmptyString(),
    'The policy of calls through the pool whose operation has no mapping.',
    'the policy default',
  ),
  circuit_breaker: optionalKey(
    breakerEntrySchema.clone(),
    'Settings of the breakers of the members: when a member is ejected, and for how long.',
  ),
  members: absentKey(listOf(memberSchema), 'The members of the pool.', 'none'),
  members_file: absentKey(
    nonEmptyString(),
    'A file with more members: lines, JSON or CSV. The path is relative to the config file.',
    'none',
  ),
  member_faults: optionalKey(
    listOf(httpStatus()),
    'HTTP statuses that count as failures of the member, not of the request. An empty list: none.',
    CONFIG_DEFAULTS.pool.memberFaults.join(', '),
  ),
  max_ejected: absentKey(
    fraction(),
    'The maximum fraction of members that can be ejected at the same time.',
    'no limit',
  ),
  probe: optionalKey(
    z.strictObject({
      interval: optionalKey(
        positiveDuration(),
        'The time between two rounds of probes.',
        CONFIG_DEFAULTS.pool.probeInterval,
      ),
      url: absentKey(
        urlWithScheme('http', 'https'),
        'The URL that a probe requests through the member.',
        'none, no probes are sent',
      ),
    }),
    'Probes of ejected members by the server, so that they recover without traffic.',
  ),
})
