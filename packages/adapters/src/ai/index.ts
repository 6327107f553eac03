export type { AdapterCallOptions, CallGuard } from '../guard.js'
export { type AiMiddlewareOptions, createModelMiddleware } from './middleware.js'
export type { AiCall, AiCallParams, AiMiddleware, AiModel, AiStreamResult } from './types.js'
