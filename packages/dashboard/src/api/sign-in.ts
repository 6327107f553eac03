import { signal } from '@preact/signals'

/**
 * Whether the server accepts requests of this browser. Scripts cannot read the cookie of the sign-in, so the state follows from
 * the responses: `allowed` until a request is rejected, then `required`, or `ended` where there was a sign-in before.
 */
export const signInState = signal<'allowed' | 'required' | 'ended'>('allowed')

/** Increases with each sign-in and sign-out; queries depend on it and are loaded again. */
export const signInCount = signal(0)

/** Called when the server rejects a request because it is not signed in. */
export function onSignInRejected(wasSignedIn: boolean): void {
  if (signInState.peek() === 'allowed') signInState.value = wasSignedIn ? 'ended' : 'required'
}
