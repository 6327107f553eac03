export type { AdapterCallOptions, CallGuard } from '../guard.js'
export { createAxiosAdapter } from './adapter.js'
export type { AxiosAdapterOptions } from './options.js'
export type { AxiosConfig, AxiosHeaders, AxiosLibrary, AxiosReply } from './types.js'
