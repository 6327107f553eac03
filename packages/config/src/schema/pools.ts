import { STRATEGY_NAMES } from 'holdfast/internal'
import { z } from 'zod'
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

/** A member of a pool. */
export const memberSchema = z.strictObject({
  id: absentKey(nonEmptyString(), 'The id of the member.', 'host and port of its url'),
  url: requiredKey(
    urlWithScheme('http', 'https', 'socks5', 'socks5h'),
    'The URL of the member; can contain credentials. socks5:// and socks5h:// are equivalent: the proxy resolves host names.',
  ),
  weight: optionalKey(nonNegativeNumber(), 'The relative frequency with which the member is selected.', 1),
  region: optionalKey(anyString(), 'The region of the member.'),
  cost: optionalKey(nonNegativeNumber(), 'The cost of a call through the member.', 0),
  tags: optionalKey(listOf(anyString()), 'Labels of the member.'),
  circuit_breaker: optionalKey(breakerEntrySchema.clone(), 'Settings of the breaker of this member.'),
})

/** A pool. */
export const poolSchema = z.strictObject({
  strategy: optionalKey(oneOf(...STRATEGY_NAMES), 'How a member is selected.', 'round_robin'),
  policy: optionalKey(nonEmptyString(), 'The policy of calls through the pool.'),
  circuit_breaker: optionalKey(
    breakerEntrySchema.clone(),
    'Settings of the breakers of the members: when a member is ejected, and for how long.',
  ),
  members: optionalKey(listOf(memberSchema), 'The members of the pool.'),
  members_file: optionalKey(
    nonEmptyString(),
    'A file with more members: lines, JSON or CSV. The path is relative to the config file.',
  ),
  member_faults: optionalKey(
    listOf(httpStatus()),
    'HTTP statuses that count as failures of the member, not of the request.',
  ),
  max_ejected: optionalKey(
    fraction(),
    'The maximum fraction of members that can be ejected at the same time.',
  ),
  probe: optionalKey(
    z.strictObject({
      interval: optionalKey(positiveDuration(), 'How often ejected members are probed.'),
      url: optionalKey(urlWithScheme('http', 'https'), 'The URL that a probe requests.'),
    }),
    'Probes of ejected members.',
  ),
})
