"""This package proves that blocks which get shared memory as they run do what they did with static shared memory."""
