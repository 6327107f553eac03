import { useComputed, useSignal } from '@preact/signals'
import { ApiClientError } from '../api/error-response.js'
import { signIn } from '../api/role.js'
import { signInState } from '../api/sign-in.js'
import { clock } from '../browser.js'
import { now } from '../now.js'

/** The message of a failed attempt. */
function messageOf(error: unknown): string {
  if (error instanceof ApiClientError && error.status === 401) return 'Invalid or revoked token.'
  return error instanceof ApiClientError && error.status === 429
    ? 'Too many wrong tokens from this address.'
    : (error as Error).message
}

/** The form for the token, shown when the server requires one. Each attempt is one request. */
export function SignInForm() {
  const input = useSignal('')
  const isKept = useSignal(false)
  const isBusy = useSignal(false)
  const problem = useSignal(
    signInState.peek() === 'ended'
      ? 'You were signed out: the sign-in has expired, or the token was revoked.'
      : '',
  )
  const blockedUntil = useSignal(0)
  const wait = useComputed(() => Math.max(0, Math.ceil((blockedUntil.value - now.value) / 1000)))

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    const token = input.value.trim()
    if (token === '' || isBusy.peek() || wait.peek() > 0) return
    isBusy.value = true
    problem.value = ''
    try {
      await signIn(token, isKept.value)
    } catch (error) {
      problem.value = messageOf(error)
      if (error instanceof ApiClientError && error.retryAfter !== undefined)
        blockedUntil.value = clock.wall() + error.retryAfter * 1000
    }
    isBusy.value = false
  }

  return (
    <main class="gate" tabIndex={-1}>
      <article>
        <h1>Sign in</h1>
        <p>
          This server requires a token. Create one with <code>holdfast token create NAME --role viewer</code>.
        </p>
        <form onSubmit={(event) => void submit(event)}>
          <label>
            Token
            <input
              type="password"
              autocomplete="off"
              spellcheck={false}
              required
              aria-invalid={problem.value === '' ? undefined : 'true'}
              aria-describedby="sign-in-problem"
              value={input.value}
              onInput={(event) => {
                input.value = event.currentTarget.value
              }}
            />
          </label>
          <label>
            <input
              type="checkbox"
              checked={isKept.value}
              onChange={(event) => {
                isKept.value = event.currentTarget.checked
              }}
            />
            Keep me signed in on this device
          </label>
          <p id="sign-in-problem" class="problem" role="alert" hidden={problem.value === ''}>
            {problem.value}
          </p>
          <p class="hint" role="timer" hidden={wait.value === 0}>
            Next attempt in {wait.value} s.
          </p>
          <button type="submit" aria-busy={isBusy.value} disabled={isBusy.value || wait.value > 0}>
            Sign in
          </button>
        </form>
      </article>
    </main>
  )
}
