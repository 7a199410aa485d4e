extern "C" __global__ void forms(float *o, cudaTextureObject_t t, int n, unsigned long long *c) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  float v = tex2D<float>(t, i, n) + tex1Dfetch<float>(t, i);
  float4 q = tex3D<float4>(t, i, v, 1.f);
  if (i < n) atomicAdd(&o[i], v + q.x + q.w);
  v += __shfl_xor_sync(0xffffffff, v, 3);
  unsigned b = __ballot_sync(0xffffffff, v > 0);
  float4 w = ((float4 *)o)[i];
  w.x += v + b;
  ((float4 *)o)[i + n] = w;
  unsigned r;
  for (int k = 0; k < 2; k++)
    asm volatile("{ .reg .pred p; .reg .b32 t<2>; setp.eq.u32 p, %1, 0; @p bra L; add.u32 t1, %1, 1; mov.u32 %0, t1; L: mov.u32 %0, 7; }"
                 : "=r"(r) : "r"(n + k));
  c[i] = clock64() + r;
  switch (n) { case 0: o[i] += 1; break; case 1: o[i + 1] = 2; break; case 2: o[i * 3] = 4; break; case 3: o[1] = v; break;
               case 4: o[i] *= v; break; case 5: o[7] = 4; break; case 6: __syncthreads(); o[2] = v; break; case 7: o[i] = n / i; break;
               case 8: o[i] = sqrtf(v); break; case 9: __threadfence(); break; }
}
