#include "../src/gavel.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double now(void){struct timespec t;clock_gettime(CLOCK_MONOTONIC,&t);return t.tv_sec+1e-9*t.tv_nsec;}
int main(int c,char**v){int n=atoi(v[1]),k=atoi(v[2]),classes=atoi(v[3]);
 gavel_job*j=malloc(n*sizeof*j);double*T=malloc(sizeof(double)*n*k),w[64],pr[64];srand(1);
 #define U (rand()/(RAND_MAX+1.0))
 for(int a=0;a<k;a++){w[a]=20+rand()%60;pr[a]=.5+3*U;}
 double sp[64];for(int a=0;a<k;a++)sp[a]=1+9*U;
 for(int i=0;i<n;i++){ if(i>=classes){j[i]=j[i%classes];for(int a=0;a<k;a++)T[i*k+a]=T[(i%classes)*k+a];continue;}
  j[i]=(gavel_job){1<<(rand()%4),1,exp(8+6*U),3600*(1+100*U)};double b=exp(4*U-2);for(int a=0;a<k;a++)T[i*k+a]=b*sp[a]*exp(U-.5);}
 gavel_input in={n,k,j,T,w,pr};gavel_result r={.share=malloc(sizeof(double)*n*k),.unmet=malloc(sizeof(double)*n)};
 for(int p=0;p<3;p++){double t=now();int s=gavel_assign(&in,p,malloc,0,0,&r);printf("%s status %d objective %g classes %d %.2f s\n",gavel_policy_name[p],s,r.objective,r.n_classes,now()-t);fflush(stdout);}
}
