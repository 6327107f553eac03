import { testTarget } from '../../../../test/fuzz/short.js'
import { target as config } from './config.target.js'
import { target as oldConfigs } from './old-configs.target.js'

testTarget(config, 500)
testTarget(oldConfigs, 500)
