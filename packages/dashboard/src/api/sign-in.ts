import { signal } from '@preact/signals'

/**
 * Whether the browser is signed in. The cookie of the sign-in is not readable for scripts, so the responses of the server tell:
 * `required` after a request without a valid sign-in, `ended` where there was one before.
 */
export const signInState = signal<'not required' | 'required' | 'ended'>('not required')

/** Increases with each sign-in and sign-out; queries depend on it and are loaded again. */
export const signInCount = signal(0)

/** Called when the server rejects a request because it is not signed in. */
export function onSignInRejected(wasSignedIn: boolean): void {
  if (signInState.peek() === 'not required') signInState.value = wasSignedIn ? 'ended' : 'required'
}
