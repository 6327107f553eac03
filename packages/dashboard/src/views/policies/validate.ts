import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { call } from '../../api/call.js'
import type { Validation } from '../../api/types.js'
import { clock } from '../../page.js'
import { fieldAt } from './draft.js'

/** A name for the policy that is checked; the id itself might have a dot in it. */
const DRAFT = 'draft'

/** What the server says of a policy, by field, while it is written. */
export function useValidation(
  policy: Record<string, unknown>,
  breakers: unknown,
): ReadonlyMap<string, string> {
  const found = useSignal<ReadonlyMap<string, string>>(new Map())
  const text = JSON.stringify({
    version: '1.1.0',
    ...(breakers === undefined ? {} : { circuit_breakers: breakers }),
    policies: { [DRAFT]: policy },
  })
  useEffect(() => {
    const stop = new AbortController()
    const timer = clock.setTimer(() => {
      call<Validation>('POST', '/config/validate', { body: text, signal: stop.signal }).then(
        ({ errors }) => {
          const own = errors.filter(({ path }) => path.startsWith(`policies.${DRAFT}`))
          found.value = new Map(
            own.map(({ path, message }) => [fieldAt(path.slice(`policies.${DRAFT}.`.length)), message]),
          )
        },
        // What cannot be checked now is checked when it is saved.
        () => undefined,
      )
    }, 200)
    return () => {
      stop.abort()
      clock.clearTimer(timer)
    }
  }, [text])
  return found.value
}
