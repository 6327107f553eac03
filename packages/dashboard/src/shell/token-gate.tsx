import { useSignal } from '@preact/signals'
import { setToken, tokenRequest } from '../api/token.js'

/** Asks for a token, when the server does. */
export function TokenGate() {
  const typed = useSignal('')
  const enter = (submit: Event): void => {
    submit.preventDefault()
    const input = typed.value.trim()
    if (input !== '') setToken(input)
  }
  return (
    <main class="gate" tabIndex={-1}>
      <article>
        <h1>A token is needed</h1>
        <p>
          This server asks who you are. A token is made with{' '}
          <code>holdfast token create NAME --role viewer</code>; it is kept in this tab alone, until you close
          it.
        </p>
        <form onSubmit={enter}>
          <label>
            Token
            <input
              type="password"
              autocomplete="off"
              spellcheck={false}
              required
              aria-invalid={tokenRequest.value === 'wrong' ? 'true' : undefined}
              aria-describedby="token-problem"
              value={typed.value}
              onInput={(input) => {
                typed.value = input.currentTarget.value
              }}
            />
          </label>
          <p id="token-problem" class="problem" role="alert" hidden={tokenRequest.value !== 'wrong'}>
            This token is not known: it may be revoked, or mistyped.
          </p>
          <button type="submit">Continue</button>
        </form>
      </article>
    </main>
  )
}
