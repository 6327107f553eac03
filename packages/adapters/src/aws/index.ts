export type { AdapterCallOptions, CallGuard } from '../guard.js'
export { type AwsPluginOptions, createRetryPlugin } from './plugin.js'
export { type AwsRetryOptions, createRetryStrategy } from './strategy.js'
export type {
  AwsCallContext,
  AwsErrorInfo,
  AwsErrorType,
  AwsMiddlewareStack,
  AwsPlugin,
  AwsRetryStrategy,
  AwsRetryToken,
} from './types.js'
