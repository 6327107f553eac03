import type { Guard } from 'holdfast'
import type { Holdfast } from '../../src/index.js'

declare const hf: Holdfast

/** Fails to compile unless `A` and `B` are the same type. */
type Same<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : never
const same = <T extends true>(): T | undefined => undefined

const plain = hf.run('send', () => 1)
same<Same<typeof plain, Promise<number>>>()

const withFallback = hf.run('send', () => 1, { fallback: () => 'cached' })
same<Same<typeof withFallback, Promise<number | string>>>()

const asynchronous = hf.run('send', async () => 1, { fallback: async () => null })
same<Same<typeof asynchronous, Promise<number | null>>>()

const guard = hf.guard('send', { fallback: () => 'cached' })
const guarded = guard.run(() => 1)
same<Same<typeof guarded, Promise<number | string>>>()

const withoutFallback: Guard = hf.guard('send')
const unguarded = withoutFallback.run(() => 1)
same<Same<typeof unguarded, Promise<number>>>()

// @ts-expect-error a fallback is a function
void hf.run('send', () => 1, { fallback: 'cached' })
