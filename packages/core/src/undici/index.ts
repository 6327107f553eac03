export {
  createHostedInterceptor,
  type ResilienceInterceptor,
  type ResilienceOptions,
  resilience,
} from './resilience.js'
