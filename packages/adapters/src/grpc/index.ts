export type { AdapterCallOptions, CallGuard } from '../guard.js'
export { createGrpcInterceptor, type GrpcInterceptorOptions } from './interceptor.js'
export type { GrpcCallOptions, GrpcLibrary } from './types.js'
