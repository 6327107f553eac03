import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { callApi } from '../../api/client.js'
import type { WireValidation } from '../../api/types.js'
import { clock } from '../../browser.js'
import { fieldOfPath } from './draft.js'

/** The id of the validated policy. The real id could contain a dot, which would change the paths of problems. */
const DRAFT_POLICY_ID = 'draft'

/** Validates a policy on the server while the user types. Returns the problems by field. */
export function useValidation(
  policy: Record<string, unknown>,
  breakers: unknown,
): ReadonlyMap<string, string> {
  const found = useSignal<ReadonlyMap<string, string>>(new Map())
  const text = JSON.stringify({
    version: '1.2.0',
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
        // The server validates the policy again when it is saved.
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
