// The names of the processes of the soak test.

export const FLEET = ['node-1', 'node-2', 'node-3']

/** A process without Holdfast that the others are compared with. */
export const REFERENCE = 'reference'

const PROCESSES = ['server', 'proxy', 'worker', ...FLEET]

/** The processes and stores whose curves must be flat. */
export const JUDGED = [...PROCESSES, 'redis', 'sqlite', 'postgres']

/** The rows of the picture. */
export const SHOWN = [...PROCESSES, REFERENCE]
