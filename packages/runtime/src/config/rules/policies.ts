import { snakeKey } from '../../codec/twin.js'
import { contradictions, type FieldOrigin, resolvePolicies } from '../resolve.js'
import { type Facts, keyIn, type Tell } from './facts.js'

/** Checks what the values of each policy say together, once the layers below have filled it in. */
export function checkPolicies(facts: Facts, problem: Tell): void {
  for (const [id, resolved] of resolvePolicies(facts))
    for (const { field, least } of contradictions(resolved)) {
      const { [field]: high, [least]: low } = resolved.origins
      const inSeconds = facts.spelling === 'wire' ? 1000 : 1
      const unit = facts.spelling === 'wire' ? ' s' : ' ms'
      const key = (name: string) => keyIn(facts, snakeKey(name))
      problem(
        place(id, field, high, low),
        `got ${resolved.policy[field] / inSeconds}${unit}${from(high)}, takes at least ${key(least)}, which is ${resolved.policy[least] / inSeconds}${unit}${from(low)}`,
      )
    }
}

/** Where the two meet: at the policy, unless both come from elsewhere. */
function place(
  id: string,
  field: string,
  high: FieldOrigin | undefined,
  low: FieldOrigin | undefined,
): string[] {
  const own = [high, low].some((origin) => origin?.origin === 'policy' || origin?.origin === 'environment')
  return own ? ['policies', id, snakeKey(field)] : ['global_defaults', snakeKey(field)]
}

const from = (origin: FieldOrigin | undefined): string =>
  origin?.origin === 'built-in'
    ? ' by default'
    : origin?.origin === 'global_defaults'
      ? ' by global_defaults'
      : ''
