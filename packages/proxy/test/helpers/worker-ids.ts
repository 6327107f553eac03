import { ChildProcess } from 'node:child_process'

/** The process ids of the running workers of this process. */
export const workerIds = (): number[] =>
  (process as unknown as { _getActiveHandles(): unknown[] })
    ._getActiveHandles()
    .filter((handle): handle is ChildProcess => handle instanceof ChildProcess)
    .filter(({ spawnargs, exitCode, signalCode }) => {
      const isRunning = exitCode === null && signalCode === null
      return isRunning && spawnargs.some((arg) => arg.includes('workers/worker'))
    })
    .map(({ pid }) => pid as number)
