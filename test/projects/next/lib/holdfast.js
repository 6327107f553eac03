import { Holdfast } from '@holdfast/runtime'

// One runtime for each process: route handlers and pages are separate bundles.
export const holdfast = () =>
  (globalThis.holdfast ??= Holdfast.open({
    config: {
      version: '1.2.0',
      store: 'sqlite:.holdfast.db',
      policies: { orders: { maxAttempts: 3, backoffType: 'immediate' } },
    },
  }))
