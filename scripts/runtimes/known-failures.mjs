// Test files that do not pass on another runtime, with the reason. They are left out there.

const OWN_UNDICI = 'Bun replaces the package undici by a module of its own, which has no interceptors'

/** @type {Record<string, { file: string, reason: string }[]>} */
export const KNOWN_FAILURES = {
  bun: [
    { file: '**/classify/real/http-clients.test.ts', reason: OWN_UNDICI },
    { file: '**/regressions/request-sent-after-the-abort.test.ts', reason: OWN_UNDICI },
    { file: '**/regressions/unfinished-body-hides-the-status.test.ts', reason: OWN_UNDICI },
    { file: '**/classify/validation.test.ts', reason: 'the export z of zod is undefined in Vitest on Bun' },
  ],
  deno: [
    {
      file: '**/classify/real/platform.test.ts',
      reason: 'the error of an aborted events.once has no cause on Deno',
    },
    {
      file: '**/regressions/timer-keeps-the-process-alive.test.ts',
      reason: 'the test starts its program with options of Node.js',
    },
  ],
}
