import { useSignal } from '@preact/signals'
import { setToken, tokenRequest } from '../api/token.js'

/** The form for the token, shown when the server requires one. */
export function TokenGate() {
  const input = useSignal('')
  const onSubmit = (submit: Event): void => {
    submit.preventDefault()
    const value = input.value.trim()
    if (value !== '') setToken(value)
  }
  return (
    <main class="gate" tabIndex={-1}>
      <article>
        <h1>A token is required</h1>
        <p>
          This server requires a token. Create one with <code>holdfast token create NAME --role viewer</code>.
          The token is stored only in this tab, until you close it.
        </p>
        <form onSubmit={onSubmit}>
          <label>
            Token
            <input
              type="password"
              autocomplete="off"
              spellcheck={false}
              required
              aria-invalid={tokenRequest.value === 'wrong' ? 'true' : undefined}
              aria-describedby="token-problem"
              value={input.value}
              onInput={(event) => {
                input.value = event.currentTarget.value
              }}
            />
          </label>
          <p id="token-problem" class="problem" role="alert" hidden={tokenRequest.value !== 'wrong'}>
            Unknown token: it may be revoked or mistyped.
          </p>
          <button type="submit">Continue</button>
        </form>
      </article>
    </main>
  )
}
