import type { Clock } from './clock.js'

/** A saved async context, as Node's AsyncResource keeps it. */
export interface AsyncScope {
  runInAsyncScope<This, Args extends unknown[], R>(
    fn: (this: This, ...args: Args) => R,
    thisArg?: This,
    ...args: Args
  ): R
}

type AsyncHooks = { AsyncResource: new (type: string, options: object) => AsyncScope }

/**
 * Node's async_hooks, without an import that browsers and bundlers would have to resolve. Undefined where the platform
 * has no async context, and before Node 20.16 and 22.3.
 */
const hooks = /* @__PURE__ */ findAsyncHooks()

function findAsyncHooks(): AsyncHooks | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): AsyncHooks | undefined } }
  return process?.getBuiltinModule?.('node:async_hooks')
}

const OPTIONS = { requireManualDestroy: true }

/** Saves the current async context (what AsyncLocalStorage reads). Undefined where the platform has none. */
export const captureContext = (): AsyncScope | undefined =>
  hooks === undefined ? undefined : new hooks.AsyncResource('HOLDFAST', OPTIONS)

/** Calls `fn` in a saved async context. */
export const runInContext = <R>(scope: AsyncScope | undefined, fn: () => R): R =>
  scope === undefined ? fn() : scope.runInAsyncScope(fn)

/** Returns a function that calls `fn` in the async context of this moment, regardless of its caller. */
export function bindContext(fn: () => void): () => void {
  const scope = captureContext()
  return scope === undefined ? fn : () => scope.runInAsyncScope(fn)
}

/** Sets a timer for one call. It fires in the context of that call, because a user's clock can fire all timers from one place. */
export const setCallTimer = (clock: Clock, fn: () => void, ms: number): unknown =>
  clock.setTimer(bindContext(fn), ms)

/** The context in which this module was loaded, which belongs to no call. */
const outside = /* @__PURE__ */ captureContext()

/** Calls `fn` outside the context of any call, so that work it starts neither sees nor retains the caller's context. */
export const runOutsideContext = <R>(fn: () => R): R => runInContext(outside, fn)

/** Sets a timer for work that does not belong to one call: it is created and fires outside the context of any call. */
export const setSharedTimer = (clock: Clock, fn: () => void, ms: number): unknown =>
  runOutsideContext(() => clock.setTimer(() => runOutsideContext(fn), ms))

/** Returns a clock for work that does not belong to one call: its timers fire outside the context of any call. */
export const backgroundClock = (clock: Clock): Clock => ({
  now: () => clock.now(),
  wall: () => clock.wall(),
  setTimer: (fn, ms) => setSharedTimer(clock, fn, ms),
  clearTimer: (handle) => clock.clearTimer(handle),
})
