import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { callApi } from '../../api/client.js'
import type { WireValidation } from '../../api/types.js'
import { clock } from '../../browser.js'
import { fieldOfPath } from './draft.js'

/** A name for the policy that is checked; the id itself might have a dot in it. */
const DRAFT_POLICY_ID = 'draft'

/** What the server says of a policy, by field, while it is written. */
export function useValidation(
  policy: Record<string, unknown>,
  breakers: unknown,
): ReadonlyMap<string, string> {
  const found = useSignal<ReadonlyMap<string, string>>(new Map())
  const text = JSON.stringify({
    version: '1.1.0',
    ...(breakers === undefined ? {} : { circuit_breakers: breakers }),
    policies: { [DRAFT_POLICY_ID]: policy },
  })
  useEffect(() => {
    const stop = new AbortController()
    const timer = clock.setTimer(() => {
      callApi<WireValidation>('POST', '/config/validate', { body: text, signal: stop.signal }).then(
        ({ errors }) => {
          const own = errors.filter(({ path }) => path.startsWith(`policies.${DRAFT_POLICY_ID}`))
          found.value = new Map(
            own.map(({ path, message }) => [
              fieldOfPath(path.slice(`policies.${DRAFT_POLICY_ID}.`.length)),
              message,
            ]),
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
