export { guardJobs, type JobGuard } from './guard-jobs.js'
export type { DeadLetterQueue, FailedJob, JobGuardOptions, JobRetryOptions } from './options.js'
export type { GuardedWorkerOptions, JobProcessor, JobWorker, QueuedJob } from './types.js'
