import { testTarget } from '../../../../test/fuzz/short.js'
import { target as config } from './config.target.js'

testTarget(config, 500)
